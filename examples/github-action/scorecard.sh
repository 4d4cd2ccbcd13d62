#!/usr/bin/env bash
# Runs `roleos scorecard --accept` and appends its report to the summary of the job. Inputs come as variables, so that no
# input is ever parsed as shell code.
set -uo pipefail

read -ra arguments <<<"${ARGUMENTS:-}"
report=$("${ROLEOS:-roleos}" scorecard "$BUNDLES" --ledger "$LEDGER" --key-file "$KEY_FILE" --accept \
    "${arguments[@]}" --color never 2>&1)
status=$?
if [ "$status" -eq 0 ]; then verdict="accepted"; else verdict="not accepted"; fi
{
    printf '## Role OS scorecard: %s\n\n' "$verdict"
    # Indented, because no line of a report can end such a block.
    printf '%s\n' "$report" | sed 's/^/    /'
} >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
exit "$status"
