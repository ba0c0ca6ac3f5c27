"""`penstock completion`: the script that lets a shell complete commands and options."""

import click


@click.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def completion(*, shell: str) -> None:
    """Print the completion script of a shell; put it where the shell reads it at start.

    \b
    Examples:
      penstock completion bash >> ~/.bashrc
      penstock completion zsh >> ~/.zshrc
      penstock completion fish > ~/.config/fish/completions/penstock.fish
    """
    from click.shell_completion import get_completion_class

    from penstock.cli.main import cli

    script = get_completion_class(shell)
    assert script is not None  # noqa: S101 - click knows the three shells of the choice above
    click.echo(script(cli, {}, "penstock", "_PENSTOCK_COMPLETE").source())
