/**
 * `cairn acp`: an agent for editors and other ACP clients, on stdin and stdout. A separate entry point: a
 * client waits for the answer to `initialize`, so the service is loaded after that.
 */
import { Readable, Writable } from 'node:stream'
import { parseArgs } from 'node:util'
import { ndJsonStream } from '@agentclientprotocol/sdk'
import { VERSION } from '@cairn/tooling/version'
import { acpAgent, type AgentEnvironment } from './agent.ts'

/** Maximum frame of a client; prompts may carry images. */
const MAX_FRAME = 64 * 2 ** 20

type Options = { url: string | undefined; token: string | undefined; box: boolean }

const open = async ({
  url,
  token,
  box,
}: Options): Promise<AgentEnvironment & { stop?: () => Promise<void> }> => {
  if (box) return (await import('./sandbox-place.ts')).openSandboxPlace(process.env)
  if (url === undefined) return (await import('./local-place.ts')).openLocalPlace({ env: process.env })
  if (token === undefined) throw new Error('--url needs an account token: pass --token or set CAIRN_TOKEN')
  return (await import('./remote-place.ts')).openRemotePlace(url, token)
}

/** Resolves when the client has disconnected and the service, if started, has drained. */
export async function runAcp(argv: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      url: { type: 'string' },
      token: { type: 'string' },
      box: { type: 'boolean', default: false },
    },
  })
  let opening: ReturnType<typeof open> | null = null
  const place = (): ReturnType<typeof open> =>
    (opening ??= open({
      url: values.url ?? process.env['CAIRN_URL'],
      token: values.token ?? process.env['CAIRN_TOKEN'],
      box: values.box,
    }))
  const connection = acpAgent({ version: VERSION, place }).connect(
    ndJsonStream(
      Writable.toWeb(process.stdout) as WritableStream<Uint8Array>,
      Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>,
      { maxMessageBytes: MAX_FRAME },
    ),
  )
  const end = (): void => connection.close()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, end)
  await connection.closed
  const opened = opening as ReturnType<typeof open> | null
  await (await opened)?.stop?.()
}
