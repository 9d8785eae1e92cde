/** The configuration of a command that takes all of a run's keys: a YAML file, overridden by flags. */
import { readFile } from 'node:fs/promises'
import { CONFIG_KEYS, configKeys, readConfig, type TrainConfig } from '@cairn-tune/train'
import { InputError } from '@cairn-tune/weights'
import { table } from './command.ts'
import { UsageError } from './exit.ts'

/** The options of these commands, without dashes. */
export const CONFIG_FLAGS = ['config', ...CONFIG_KEYS.map(key => key.replaceAll('_', '-')), 'json', 'help']

export type ConfigArgs = { config: TrainConfig; json: boolean }

/** Reads `[CONFIG.yaml] [--config CONFIG.yaml] [--json] [--key value …]`. */
export async function readConfigArgs(argv: readonly string[]): Promise<ConfigArgs> {
  const flags: string[] = []
  let path: string | undefined
  let json = false
  for (let i = 0; i < argv.length; i++) {
    const word = argv[i] ?? ''
    if (word === '--json') json = true
    else if (word === '--config' || word.startsWith('--config=') || (i === 0 && !word.startsWith('-'))) {
      if (path !== undefined) throw new UsageError('expected one configuration file, got two')
      const value = word === '--config' ? argv[++i] : word.replace(/^--config=/, '')
      if (value === undefined) throw new UsageError('--config needs a file')
      path = value
    } else flags.push(word)
  }
  if (path === undefined) return { config: readConfig({ flags }), json }
  const yaml = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new InputError(
      `configuration ${path}: cannot read the file: ` +
        `${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    )
  })
  return { config: readConfig({ path, yaml, flags }), json }
}

const defaultText = (value: string): string =>
  value === '' ? '' : value === 'required' ? '; required' : `; default: ${value}`

/** The keys, for --help. */
export function configHelp(): string {
  const rows = configKeys().map(({ key, values, default: value, meaning }): [string, string] => [
    `--${key.replaceAll('_', '-')}`,
    `${meaning} [${values}${defaultText(value)}]`,
  ])
  return (
    'Configuration keys: with underscores in YAML, with underscores or hyphens as flags ' +
    `(docs/tune/config.md):\n\n${table(rows)}`
  )
}
