/** Shell completion of commands and options, generated from the table of commands. */
import { type Command, type CommandLine, type Output, takePositionals, UsageError } from './command.ts'

export const completionCommand = <Io extends Output, Code extends number>(
  { program, defineCommand }: CommandLine<Io, Code>,
  commands: () => Promise<readonly Command<Io, Code>[]>,
): Command<Io, Code> =>
  defineCommand({
    name: 'completion',
    summary: 'Print a shell completion script',
    usage: [
      ['completion bash', `source <(${program} completion bash)`],
      ['completion zsh', `${program} completion zsh > "\${fpath[1]}/_${program}"`],
      ['completion fish', `${program} completion fish > ~/.config/fish/completions/${program}.fish`],
    ],
    options: {},
    async run({ positionals }, io) {
      const [shell] = takePositionals(positionals, [`shell name (${Object.keys(SHELLS).join(', ')})`])
      if (!(shell in SHELLS))
        throw new UsageError(`Unknown shell "${shell}": must be one of ${Object.keys(SHELLS).join(', ')}`)
      io.out(SHELLS[shell as keyof typeof SHELLS](program, wordsOf(await commands())))
      return 0 as Code
    },
  })

/** The first word of commands: its options, and the second words that may follow it. */
type Word = { word: string; summary: string; flags: string; next: string[] }

function wordsOf(commands: readonly { name: string; summary: string; flags: readonly string[] }[]): Word[] {
  const words = new Map<string, { summary: string; flags: Set<string>; next: string[] }>()
  for (const { name, summary, flags } of commands) {
    const [word = '', second] = name.split(' ')
    const known = words.get(word) ?? { summary, flags: new Set(), next: [] }
    for (const flag of flags) known.flags.add(`--${flag}`)
    if (second !== undefined) known.next.push(second)
    words.set(word, known)
  }
  return [...words].map(([word, { summary, flags, next }]) => ({
    word,
    summary,
    flags: [...flags].join(' '),
    next,
  }))
}

/** Escapes text for a shell's single quotes. */
const quoted = (text: string): string => text.replaceAll("'", "'\\''")
/** The name of a shell function. */
const functionOf = (program: string): string => `_${program.replaceAll('-', '_')}`

const bashCase = ({ word, flags, next }: Word): string => {
  const complete = (words: string): string => `COMPREPLY=($(compgen -W '${words}' -- "$word"))`
  const second = `[ "$COMP_CWORD" -eq 2 ] && ${complete(next.join(' '))} || `
  return `    ${word}) ${next.length > 0 ? second : ''}${complete(flags)} ;;`
}

const bash = (program: string, words: readonly Word[]): string => `${functionOf(program)}() {
  local word="\${COMP_WORDS[COMP_CWORD]}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${words.map(({ word }) => word).join(' ')}' -- "$word"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${words.map(bashCase).join('\n')}
  esac
}
complete -o default -F ${functionOf(program)} ${program}
`

const zshCase = ({ word, flags, next }: Word): string => {
  const second = `(( CURRENT == 3 )) && compadd -- ${next.join(' ')} || `
  return `    ${word}) ${next.length > 0 ? second : ''}compadd -- ${flags} ;;`
}

const zsh = (program: string, words: readonly Word[]): string => `#compdef ${program}
${functionOf(program)}() {
  local -a commands=(
${words.map(({ word, summary }) => `    '${word}:${quoted(summary)}'`).join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case $words[2] in
${words.map(zshCase).join('\n')}
  esac
  _files
}
${functionOf(program)} "$@"
`

function fish(program: string, words: readonly Word[]): string {
  const lines = words.flatMap(({ word, summary, flags, next }) => [
    `complete -c ${program} -n __fish_use_subcommand -a ${word} -d '${quoted(summary)}'`,
    ...(next.length > 0
      ? [`complete -c ${program} -n '__fish_seen_subcommand_from ${word}' -a '${next.join(' ')}'`]
      : []),
    ...flags
      .split(' ')
      .map(flag => `complete -c ${program} -n '__fish_seen_subcommand_from ${word}' -l ${flag.slice(2)}`),
  ])
  return `${lines.join('\n')}\n`
}

const SHELLS = { bash, zsh, fish } as const
