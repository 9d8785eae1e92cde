/** cairn completion: shell completion for commands and options, generated from their table. */
import { EXIT, UsageError } from '../exit.ts'
import { type Command, defineCommand, takePositionals } from './command.ts'

const SHELLS = { bash, zsh, fish } as const

export const completionFor = (loadCommands: () => Promise<readonly Command[]>): Command =>
  defineCommand({
    name: 'completion',
    summary: 'Print a shell completion script',
    usage: [
      ['completion bash', 'source <(cairn completion bash)'],
      ['completion zsh', 'cairn completion zsh > "${fpath[1]}/_cairn"'],
      ['completion fish', 'cairn completion fish > ~/.config/fish/completions/cairn.fish'],
    ],
    options: {},
    async run({ positionals }, io) {
      const [shell] = takePositionals(positionals, [`shell name (${Object.keys(SHELLS).join(', ')})`])
      if (!(shell in SHELLS))
        throw new UsageError(`Unknown shell "${shell}": must be one of ${Object.keys(SHELLS).join(', ')}`)
      io.out(SHELLS[shell as keyof typeof SHELLS](await loadCommands()))
      return EXIT.ok.code
    },
  })

const flagsOf = ({ flags }: Command): string => flags.map(flag => `--${flag}`).join(' ')
/** Escapes text for a shell's single quotes. */
const quoted = (text: string): string => text.replaceAll("'", "'\\''")

const bashCase = (command: Command): string =>
  `    ${command.name}) COMPREPLY=($(compgen -W '${flagsOf(command)}' -- "$word")) ;;`

function bash(commands: readonly Command[]): string {
  return `_cairn() {
  local word="\${COMP_WORDS[COMP_CWORD]}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${commands.map(({ name }) => name).join(' ')}' -- "$word"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${commands.map(bashCase).join('\n')}
  esac
}
complete -o default -F _cairn cairn
`
}

function zsh(commands: readonly Command[]): string {
  return `#compdef cairn
_cairn() {
  local -a commands=(
${commands.map(({ name, summary }) => `    '${name}:${quoted(summary)}'`).join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case $words[2] in
${commands.map(command => `    ${command.name}) compadd -- ${flagsOf(command)} ;;`).join('\n')}
  esac
  _files
}
_cairn "$@"
`
}

function fish(commands: readonly Command[]): string {
  const lines = commands.flatMap(({ name, summary, flags }) => [
    `complete -c cairn -n __fish_use_subcommand -a ${name} -d '${quoted(summary)}'`,
    ...flags.map(flag => `complete -c cairn -n '__fish_seen_subcommand_from ${name}' -l ${flag}`),
  ])
  return `${lines.join('\n')}\n`
}
