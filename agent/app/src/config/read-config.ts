/** Finds and reads cairn.yaml. */
import { readFileSync } from 'node:fs'
import { ConfigError } from './config-error.ts'
import { type EffectiveConfig, resolveConfig } from './effective-config.ts'
import { parseConfig } from './parse-config.ts'

const DEFAULT_CONFIG_FILE = './cairn.yaml'

/** A file that CAIRN_CONFIG names must be there; the default one may be absent. */
export function readConfig(
  environment: Readonly<Record<string, string | undefined>>,
): EffectiveConfig & { file: string | null } {
  const named = environment['CAIRN_CONFIG']
  const file = named || DEFAULT_CONFIG_FILE
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' && !named)
      return { ...resolveConfig(parseConfig('', file), file, environment), file: null }
    throw new ConfigError(file, [
      code === 'ENOENT'
        ? 'there is no such file, and CAIRN_CONFIG names it'
        : `cannot be read: ${(error as Error).message}`,
    ])
  }
  return { ...resolveConfig(parseConfig(text, file), file, environment), file }
}
