#!/usr/bin/env bash
# Runs `roleos scorecard --accept` and appends its report to the summary of the job. Inputs come as variables, so that no
# input is ever parsed as shell code.
set -uo pipefail

read -ra arguments <<<"${ARGUMENTS:-}"
report=$("${ROLEOS:-roleos}" scorecard "$BUNDLES" --ledger "$LEDGER" --key-file "$KEY_FILE" --accept \
    "${arguments[@]}" --color never 2>&1)
status=$?
case $status in
    0) verdict="accepted" ;;
    1) verdict="not accepted" ;;
    *) verdict="could not be checked" ;;
esac
{
    printf '## Role OS scorecard: %s\n\n' "$verdict"
    # Four backticks: a report may quote three.
    printf '````text\n%s\n````\n' "$report"
} >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
exit "$status"
