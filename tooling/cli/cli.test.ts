import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { commandLine, type Output, UsageError } from './command.ts'
import { completionCommand } from './completion.ts'
import { helpCommand } from './help.ts'

const line = commandLine<Output, number>('gr-ow')
const command = (name: string, options = {}) =>
  line.defineCommand({
    name,
    summary: `Summary of ${name}`,
    usage: [[name, 'does it']],
    options,
    run: () => Promise.resolve(7),
  })
const commands = [
  command('plant', { deep: { type: 'boolean' } }),
  command('model new'),
  command('model list'),
]
const NAMES = commands.map(({ name }) => name)
const all = () => Promise.resolve(commands)

async function print(made: (typeof commands)[number], ...argv: string[]): Promise<string> {
  let text = ''
  await made.run(argv, { out: more => void (text += more) })
  return text
}

test('finds commands of one and of two words', () => {
  expect(line.nameIn(['plant', 'a'], NAMES)).toEqual({ name: 'plant', rest: ['a'] })
  expect(line.nameIn(['model', 'new', 'DIR'], NAMES)).toEqual({ name: 'model new', rest: ['DIR'] })
  expect(line.nameIn([], [...NAMES, 'help'])).toEqual({ name: 'help', rest: [] })
  expect(line.nameIn(['-h'], [...NAMES, 'help'])).toEqual({ name: 'help', rest: [] })
})

test.each([
  [['plnat'], 'Unknown command "plnat"; did you mean "plant"?'],
  [['zzzzzz'], 'Unknown command "zzzzzz"; gr-ow help lists all commands'],
  [['model'], 'Unknown command "model"; known: model new, model list'],
  [['model', 'old'], 'Unknown command "model old"; known: model new, model list'],
])('names what %j may have meant', (argv, message) => {
  expect(() => line.nameIn(argv, NAMES)).toThrow(new UsageError(message))
})

test('an unknown option names the nearest one', () => {
  const plant = commands[0]!
  expect(() => plant.run(['--dep'], { out: () => {} })).toThrow('Unknown option --dep; did you mean --deep?')
  expect(() => plant.run(['--zzzzzz'], { out: () => {} })).toThrow(
    'Unknown option --zzzzzz; --help lists the options',
  )
})

test('help lists the commands and the exit codes, or the usage of one command', async () => {
  const help = helpCommand(line, {
    commands: all,
    note: 'A note.',
    exitCodes: { ok: { code: 0, means: 'done' } },
  })
  expect(await print(help)).toBe(
    'usage: gr-ow COMMAND [OPTION…]\n\n  plant       Summary of plant\n  model new   Summary of model new\n' +
      '  model list  Summary of model list\n\nA note.\n\nExit codes\n  0  done\n',
  )
  expect(await print(help, 'model', 'new')).toBe('Summary of model new.\n\n  gr-ow model new  does it\n')
  await expect(print(help, 'plow')).rejects.toThrow('Unknown command "plow"; gr-ow help lists all commands')
})

test('bash completes commands, second words and options', async () => {
  const script = await print(completionCommand(line, all), 'bash')
  const complete = (...words: string[]): string[] => {
    const quoted = words.map(word => `'${word}'`).join(' ')
    const ask =
      `COMP_WORDS=(gr-ow ${quoted}); COMP_CWORD=${words.length}; _gr_ow; ` +
      'printf "%s\\n" "${COMPREPLY[@]}"'
    const { stdout } = spawnSync('bash', ['-c', `${script}\n${ask}`], { encoding: 'utf8' })
    return stdout.split('\n').filter(Boolean)
  }
  expect(complete('')).toEqual(['plant', 'model'])
  expect(complete('model', '')).toEqual(['new', 'list'])
  expect(complete('model', 'new', '--')).toEqual(['--json', '--help'])
  expect(complete('plant', '--d')).toEqual(['--deep'])
})
