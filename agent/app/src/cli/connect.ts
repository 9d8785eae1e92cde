/** How a command reaches the server: the address and the token. */
import { type CairnClient, createClient } from '@cairn/client'
import { DEFAULT_HOST, DEFAULT_PORT, dataDirOf, findServer } from '../local/data-dir.ts'
import { hasLocalAdmin, localToken } from '../local/local-admin.ts'
import type { Io } from './command.ts'
import { NotFoundError } from '../exit.ts'

/** `--url`, for every command that talks to a server. */
export const CONNECT_OPTIONS = { url: { type: 'string' } } as const
export const connect = (
  values: { url?: string | undefined },
  io: Pick<Io, 'env'>,
): { client: CairnClient; baseUrl: string } => connectWith(values, io)

/** Like `connect`, and also returns the token for requests outside the client. */
export function connectWith(
  values: { url?: string | undefined },
  { env }: Pick<Io, 'env'>,
): { client: CairnClient; baseUrl: string; token: () => string | Promise<string> } {
  const dataDir = dataDirOf(env)
  const named = values.url ?? env['CAIRN_URL']
  const baseUrl =
    named ??
    findServer(dataDir)?.url ??
    `http://${env['HOST'] || DEFAULT_HOST}:${env['PORT'] || DEFAULT_PORT}`
  const given = env['CAIRN_TOKEN']
  if (given) return { client: createClient({ baseUrl, token: given }), baseUrl, token: () => given }
  if (!hasLocalAdmin(dataDir)) {
    const ways = `set CAIRN_TOKEN, or point CAIRN_DATA at the data directory of the server`
    throw new NotFoundError(
      named === undefined
        ? `No server has used the data directory ${dataDir} yet. Start one with cairn serve. ` +
            `To use a remote server, set CAIRN_URL, and ${ways}.`
        : `No token for ${baseUrl}: ${ways} (no server has used ${dataDir} yet).`,
    )
  }
  const token = (): Promise<string> => localToken(dataDir)
  return { client: createClient({ baseUrl, token }), baseUrl, token }
}
