/** A process of `judge_bot.py`: pywa connected by two pipes. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { signedByMeta } from './fake-graph.ts'

export type From = { wa_id: string | null; bsuid: string; name: string }
export type Heard =
  | { kind: 'message'; id: string; text: string; from: From }
  | { kind: 'command'; text: string; from: From }
  | { kind: 'media'; text: string | null; media: string; mime_type: string; from: From }
  | { kind: 'press'; value: string; label: string; from: From }
  | { kind: 'status'; id: string; status: string; tracker: string | null }
type Answer = { status: number; heard: Heard[]; body?: string; id?: string; error?: string }
export type SendOrder = { to: string; text: string; tracker?: string; buttons?: string[]; rows?: string[] }
type Options = { phone_id: string; token: string; verify_token: string; app_secret: string; api_url: string }

export async function startBot(python: string, options: Options) {
  const script = fileURLToPath(new URL('judge_bot.py', import.meta.url))
  const child: ChildProcess = spawn(python, [script, JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  async function read(): Promise<Record<string, unknown>> {
    const { value, done } = await lines.next()
    if (done === true) throw new Error('the Python has ended: pip install pywa, or name another one')
    return JSON.parse(value) as Record<string, unknown>
  }
  const { pywa } = await read()
  async function ask(order: object): Promise<Answer> {
    child.stdin?.write(`${JSON.stringify(order)}\n`)
    const answer = (await read()) as unknown as Answer
    if (answer.error !== undefined) throw new Error(`pywa: ${answer.error}`)
    return answer
  }
  return {
    version: String(pywa),
    challenge: (token: string) => ask({ op: 'challenge', token }),
    send: (order: SendOrder) => ask({ op: 'send', ...order }),
    /** The request that Meta would send, with its signature. */
    bring(payload: Record<string, unknown>, secret?: string): Promise<Answer> {
      const { headers, raw } = signedByMeta(payload, secret)
      const signature = headers.get('x-hub-signature-256')
      return ask({ op: 'webhook', raw: Buffer.from(raw).toString('base64'), signature })
    },
    end: () => void child.kill(),
  }
}
export type Bot = Awaited<ReturnType<typeof startBot>>
