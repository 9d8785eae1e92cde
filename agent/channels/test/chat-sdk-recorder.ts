/** Records what an adapter of the Chat SDK passes to the core for a request, without acting on it. */
import { type Adapter, type ChatInstance, ConsoleLogger, type Message } from 'chat'

export type Heard =
  | { kind: 'message'; message: Message; threadId: string }
  | { kind: 'action'; actionId: string; value: string | undefined; userId: string; threadId: string }
  | { kind: 'command'; command: string; text: string; userId: string; channelId: string }

type Given<T> = T | (() => Promise<T>)
const resolved = async <T>(given: Given<T>): Promise<T> =>
  typeof given === 'function' ? (given as () => Promise<T>)() : given

/** `heard` contains the result of one request, in order. */
export async function startRecorder(adapter: Pick<Adapter, 'initialize' | 'handleWebhook'>) {
  const heard: Promise<Heard>[] = []
  const write = (one: Heard | Promise<Heard>): Promise<void> => {
    heard.push(Promise.resolve(one))
    return Promise.resolve()
  }
  const hearMessage = (_adapter: Adapter, threadId: string, given: Given<Message>): Promise<void> =>
    write(resolved(given).then(message => ({ kind: 'message', message, threadId })))
  const instance = {
    getLogger: () => SILENT,
    getUserName: () => 'cairn_bot',
    getState: () => STATE,
    processMessage: hearMessage,
    handleIncomingMessage: hearMessage,
    processAction: ({ actionId, value, user, threadId }: ActionGiven) =>
      write({ kind: 'action', actionId, value, userId: user.userId, threadId }),
    processSlashCommand: ({ command, text, user, channelId }: CommandGiven) =>
      write({ kind: 'command', command, text, userId: user.userId, channelId }),
  }
  await adapter.initialize(instance as unknown as ChatInstance)
  return async (request: Request): Promise<Heard[]> => {
    heard.length = 0
    const waits: Promise<unknown>[] = []
    const { status } = await adapter.handleWebhook(request, { waitUntil: task => void waits.push(task) })
    if (status !== 200) throw new Error(`the adapter of the Chat SDK answered ${status}`)
    await Promise.all(waits)
    return Promise.all(heard)
  }
}
/** Clears the results of earlier requests. */
const STATE = new Proxy({}, { get: (_of, name) => () => Promise.resolve(name === 'setIfNotExists' || null) })
export const SILENT = new ConsoleLogger('silent')
type User = { userId: string }
type ActionGiven = { actionId: string; value?: string; user: User; threadId: string }
type CommandGiven = { command: string; text: string; user: User; channelId: string }
