"""Finds the chat templates in packages: in wheels, in source archives and in folders.

A template is a file whose name ends in .jinja or .jinja2, `chat_template` of a JSON file, or a text constant of
a Python file. What speaks of no messages is none.
"""

import ast
import json
import os
import tarfile
import warnings
import zipfile

warnings.filterwarnings("ignore")
SUFFIXES = (".jinja", ".jinja2", ".json", ".py", ".j2", ".tmpl")


def files(path):
    """Names and contents of the files in a package that may have templates."""
    if os.path.isdir(path):
        for root, folders, names in os.walk(path):
            folders[:] = sorted(one for one in folders if one not in ("node_modules", ".git"))
            for name in sorted(names):
                full = os.path.join(root, name)
                if name.endswith(SUFFIXES) and os.path.isfile(full):
                    with open(full, "rb") as file:
                        yield os.path.relpath(full, path), file.read()
    elif path.endswith((".whl", ".zip")):
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                if name.endswith(SUFFIXES):
                    yield name, archive.read(name)
    elif path.endswith((".tar.gz", ".tgz")):
        with tarfile.open(path) as archive:
            for member in archive:
                if member.isfile() and member.name.endswith(SUFFIXES):
                    yield member.name, archive.extractfile(member).read()


def is_template(text):
    return "{%" in text and "messages" in text and "endfor" in text


def in_json(value):
    """Every chat template of a JSON document, by name."""
    found = []
    if isinstance(value, dict):
        template = value.get("chat_template")
        if isinstance(template, str):
            found.append(("", template))
        elif isinstance(template, list):
            named = [one for one in template if isinstance(one, dict) and isinstance(one.get("template"), str)]
            found += [(str(one.get("name", "")), one["template"]) for one in named]
        elif isinstance(template, dict):
            found += [(key, one) for key, one in template.items() if isinstance(one, str)]
        for one in value.values():
            if isinstance(one, (dict, list)):
                found += in_json(one)
    elif isinstance(value, list):
        for one in value:
            found += in_json(one)
    return found


def in_file(name, data):
    try:
        # Line ends are part of a template.
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return
    if name.endswith(".json"):
        if "chat_template" in text:
            try:
                document = json.loads(text)
            except json.JSONDecodeError:
                return
            for inner, template in in_json(document):
                yield f"{name}#{inner}", template
    elif name.endswith(".py"):
        if "{%" not in text or "messages" not in text:
            return
        try:
            tree = ast.parse(text)
        except SyntaxError:
            return
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield f"{name}:{node.lineno}", node.value
    else:
        yield name, text


def collect(paths):
    """Different templates of all packages, as pairs of a source and a text."""
    seen = {}
    for path in paths:
        for name, data in files(path):
            for where, template in in_file(name, data):
                if is_template(template) and template not in seen:
                    seen[template] = f"{os.path.basename(path.rstrip('/'))}/{where}"
    return [(where, template) for template, where in seen.items()]
