"""Validates /openapi.json, generates a client from it and uses that client against a running `roleos up`.

Arguments: the URL of `roleos up`, an empty folder.
"""

import json
import os
import pathlib
import subprocess
import sys
import urllib.request

from openapi_spec_validator import validate

url, folder = sys.argv[1], pathlib.Path(sys.argv[2])
text = urllib.request.urlopen(f"{url}/openapi.json").read()
document = json.loads(text)
validate(document)
operations = [o for path in document["paths"].values() for o in path.values()]
names = [o["operationId"] for o in operations]
assert len(names) == len(set(names)), sorted(names)
for operation in operations:
    assert operation["summary"], operation
    for response in operation["responses"].values():
        assert response["description"], operation
    for parameter in operation.get("parameters", []):
        assert parameter["description"], (operation["operationId"], parameter["name"])

(folder / "openapi.json").write_bytes(text)
tools = pathlib.Path(sys.executable).parent
generated = subprocess.run(
    [
        tools / "openapi-python-client",
        "generate",
        "--path",
        folder / "openapi.json",
        "--meta",
        "none",
        "--output-path",
        folder / "role_os_client",
        "--fail-on-warning",
    ],
    # The generator formats what it wrote with ruff.
    env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"},
    capture_output=True,
    text=True,
)
assert generated.returncode == 0, generated.stdout + generated.stderr
sys.path.insert(0, str(folder))

from role_os_client import Client  # noqa: E402
from role_os_client.api.operator import get_login, log_in  # noqa: E402
from role_os_client.api.specialists import halt_role  # noqa: E402
from role_os_client.api.process import get_status  # noqa: E402
from role_os_client.api.witness import get_task, list_tasks  # noqa: E402
from role_os_client.models import ApiError, Login, Who  # noqa: E402

client = Client(base_url=url)
status = get_status.sync(client=client)
assert status is not None and not isinstance(status, ApiError), status
first = list_tasks.sync(client=client, limit=1)
assert not isinstance(first, ApiError), first
assert len(first.items) == 1 and first.total == 2, first
second = list_tasks.sync(client=client, limit=1, after=first.next_)
tasks = [page.items[0].task_id for page in (first, second)]
assert len(set(tasks)) == 2, tasks
one = get_task.sync(tasks[0], client=client)
assert not isinstance(one, ApiError), one

missing = get_task.sync_detailed("00" * 16, client=client)
assert missing.status_code == 404, missing
assert isinstance(missing.parsed, ApiError), missing
assert missing.parsed.code == "bundle_not_found" and missing.parsed.retryable is False, missing

refused = halt_role.sync_detailed("x", client=client, body=Who(reason="r"))
assert refused.status_code == 401 and refused.parsed.code == "login_needed", refused
wrong = log_in.sync_detailed(client=client, body=Login(code="no"))
assert wrong.status_code == 403 and isinstance(wrong.parsed, ApiError), wrong

operator = Client(base_url=url, headers={"authorization": "Bearer 0123456789abcdef"})
assert get_login.sync(client=operator).operator == "operator token"
print("OK")
