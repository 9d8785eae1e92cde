"""The commands of Helm that `npm run release:check` needs, for machines without the program helm.

The package helm-python-sdk contains Helm itself as a library: `pip install helm-python-sdk`.
"""

import json
import sys

import helm_python


def read_values(path: str) -> dict[str, object]:
    with open(path, encoding="utf-8") as file:
        return helm_python.values_from_yaml(file.read())


def lint(chart: str, values: str, kubernetes: str) -> int:
    report = helm_python.lint(chart, read_values(values), strict=True, kube_version=f"v{kubernetes}.0")
    # Severity 1 is information, such as the advice to add an icon.
    problems = [message["error"] for message in report["messages"] if message["severity"] > 1]
    print("\n".join([*problems, *report["errors"]]))
    return 1 if problems or report["errors"] else 0


def template(chart: str, values: str) -> int:
    with helm_python.Chart.load(chart) as loaded:
        files = loaded.render(read_values(values), name="cairn", namespace="cairn")
    print("\n---\n".join(text for name, text in files.items() if name.endswith(".yaml")))
    return 0


def main() -> int:
    match sys.argv[1:]:
        case ["version"]:
            print(f"{helm_python.helm_sdk_version()} of helm-python-sdk {helm_python.helm_c_version()}")
            return 0
        case ["lint", chart, values, kubernetes]:
            return lint(chart, values, kubernetes)
        case ["template", chart, values, _]:
            return template(chart, values)
    print(f"Unknown command: {json.dumps(sys.argv[1:])}", file=sys.stderr)
    return 2


sys.exit(main())
