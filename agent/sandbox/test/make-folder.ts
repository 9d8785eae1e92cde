import { mkdtempSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A new temporary folder, by its real path. */
export const makeFolder = (name: string): string =>
  realpathSync(mkdtempSync(join(tmpdir(), `cairn-${name}-`)))
