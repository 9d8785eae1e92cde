/** A hash of a connection's settings and secrets, to detect changes. */
import { createHash } from 'node:crypto'
import type { ChannelConfig } from '@cairn/protocol'
import { secretsOf } from './platforms.ts'

export const fingerprintOf = (
  id: string,
  settings: ChannelConfig,
  env: Readonly<Record<string, string | undefined>>,
): string =>
  createHash('sha256')
    .update(JSON.stringify([id, settings, secretsOf(settings, env)]))
    .digest('hex')
