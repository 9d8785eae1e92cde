/** Finds and reads cairn.yaml. */
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Config } from '@cairn/protocol'
import { ConfigError } from './config-error.ts'
import { type EffectiveConfig, resolveConfig } from './effective-config.ts'
import { type ConfigSource, parseConfigFile } from './parse-config.ts'

const DEFAULT_CONFIG_FILE = './cairn.yaml'

type Environment = Readonly<Record<string, string | undefined>>

/** Besides the configuration in effect, the file as given. */
export function readConfig(
  environment: Environment,
): EffectiveConfig & { file: string | null; given: Config; source: ConfigSource } {
  const { given, file, source } = readGiven(environment)
  return { ...resolveConfig(given, file ?? DEFAULT_CONFIG_FILE, environment, source), file, given, source }
}

/** The base of relative paths in the configuration. */
export const configDirOf = (file: string | null): string => resolve(file === null ? '.' : dirname(file))

/**
 * Reads the file without checking that the service can run with it: a backup needs no model key. A file named
 * by CAIRN_CONFIG must exist; the default one may be absent.
 */
export function readGiven(environment: Environment): {
  given: Config
  file: string | null
  source: ConfigSource
} {
  const named = environment['CAIRN_CONFIG']
  const file = named || DEFAULT_CONFIG_FILE
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' && !named) return { ...readText('', file), file: null }
    throw new ConfigError(file, [
      code === 'ENOENT'
        ? 'the file that CAIRN_CONFIG names does not exist'
        : `cannot read the file: ${(error as Error).message}`,
    ])
  }
  return { ...readText(text, file), file }
}

function readText(text: string, file: string): { given: Config; source: ConfigSource } {
  const { config, source } = parseConfigFile(text, file)
  return { given: config, source }
}
