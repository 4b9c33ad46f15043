"""Writes the reference pages that are made from the code: ``make docs``.

``tests/docs/test_reference.py`` fails when a page is not what this would write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference"


def settings_page() -> str:
    """Every setting: variable, type, default, meaning."""
    from waypost.settings import Settings, variable_name

    rows = [
        f"| `{variable_name(name)}` | {default_of(field)} | {field.description} |"
        for name, field in Settings.model_fields.items()
    ]
    return "\n".join(
        [
            "# Settings",
            "",
            "The library takes arguments; the command line, the service and the MCP server read",
            "these environment variables. An option of a command goes before its variable.",
            "`waypost doctor` shows what is in effect and names variables that are no setting.",
            "",
            "| variable | default | meaning |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def default_of(field: Any) -> str:
    if field.default_factory is not None:
        return "your user data directory"
    return "" if field.default is None else f"`{field.default}`"


def cli_page() -> str:
    """Every command with its arguments and options, in the order of ``waypost --help``."""
    from typer.main import get_command

    from waypost.cli import application

    root = get_command(application())
    lines = [
        "# Command line",
        "",
        "`waypost COMMAND --help` says the same. Results go to stdout, everything else to stderr.",
        "",
        "| exit code | meaning |",
        "|---|---|",
        "| 0 | done |",
        *exit_code_rows(),
        "",
    ]
    for path, command in commands_of(root, "waypost"):
        lines += command_section(path, command)
    return "\n".join(lines).rstrip() + "\n"


def exit_code_rows() -> Iterator[str]:
    from waypost.cli import failures

    for line in (failures.__doc__ or "").splitlines():
        code, _, meaning = line.strip().partition("   ")
        if code.isdigit():
            yield f"| {code} | {meaning} |"


def commands_of(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """All commands below a group, groups themselves left out."""
    for name, child in command.commands.items():
        if child.hidden:
            continue
        if hasattr(child, "commands"):
            yield from commands_of(child, f"{path} {name}")
        else:
            yield f"{path} {name}", child


def command_section(path: str, command: Any) -> list[str]:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
    usage = " ".join([path, *(argument_usage(p) for p in arguments), "[OPTIONS]"])
    section = [f"## {path}", "", paragraph(command.help), "", "```text", usage, "```", ""]
    rows = [option_row(p) for p in options if "--help" not in p.opts]
    if rows:
        section += ["| option | default | meaning |", "|---|---|---|", *rows, ""]
    return section


def argument_usage(parameter: Any) -> str:
    name = (parameter.metavar or parameter.name).upper().strip("[]")
    return name if parameter.required else f"[{name}]"


def option_row(parameter: Any) -> str:
    names = ", ".join(f"`{name}`" for name in parameter.opts)
    shown = parameter.default not in (None, False, (), []) and not callable(parameter.default)
    default = f"`{getattr(parameter.default, 'value', parameter.default)}`" if shown else ""
    return f"| {names} | {default} | {paragraph(parameter.help)} |"


def paragraph(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


def rpc_page() -> str:
    """Every method of the service, from the OpenRPC document that it publishes itself."""
    from scripts.rpc_reference import page
    from waypost.service.discover import describe
    from waypost.service.methods import build_registry

    return page(describe(build_registry()))


PAGES: Mapping[str, Callable[[], str]] = {
    "settings.md": settings_page,
    "cli.md": cli_page,
    "rpc.md": rpc_page,
}


def main() -> None:
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (REFERENCE / name).write_text(page(), encoding="utf-8")
        print(f"docs/reference/{name}")


if __name__ == "__main__":
    main()
