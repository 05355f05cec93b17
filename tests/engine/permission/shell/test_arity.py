from opencode_tui.engine.permission.shell.scan import command_prefix


def test_the_longest_entry_that_fits_decides() -> None:
    table = {
        "ls -la": "ls",
        "git status -s": "git status",
        "git stash pop": "git stash pop",
        "npm run build --x": "npm run build",
        "npm install x": "npm install",
        "docker compose up -d": "docker compose up",
        "gcloud compute ssh x": "gcloud compute ssh",
        "python3 -m pytest -q": "python3 -m pytest",
        "git": "git",
        "git checkout main": "git checkout",
        "touch foo.txt": "touch",
        "docker run nginx": "docker run",
        "aws s3 ls bucket": "aws s3 ls",
        "npm run dev x": "npm run dev",
        "consul kv get config": "consul kv get",
        "unknown command here": "unknown",
        "": "",
    }
    assert {text: " ".join(command_prefix(text.split())) for text in table} == table
