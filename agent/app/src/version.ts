/** This release's version, from its package.json. */
import { readFileSync } from 'node:fs'

export const readVersion = (): string =>
  (JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string })
    .version
