/**
 * Discord's gateway, a socket that we open. Its sequence number is stored with the rows, so that another
 * process, or this one after a restart, resumes from there while Discord keeps the session.
 */
import type { REST } from '@discordjs/rest'
import { CloseCodes, type SessionInfo, WebSocketManager, WebSocketShardEvents } from '@discordjs/ws'
import {
  type APIApplication,
  type APIChannel,
  type APIUser,
  ApplicationCommandOptionType,
  ChannelType,
  GatewayDispatchEvents,
  type GatewayDispatchPayload,
  GatewayIntentBits,
  Routes,
} from 'discord-api-types/v10'
import type { Consuming } from '../adapter.ts'
import { closedForGood, consumeFailed } from './failures.ts'
import { channelOf, parseDispatch, type Reading } from './parse.ts'

const INTENTS =
  GatewayIntentBits.Guilds |
  GatewayIntentBits.GuildMessages |
  GatewayIntentBits.DirectMessages |
  GatewayIntentBits.MessageContent
const COMMANDS = [
  { name: 'stop', description: 'Stop the running turn' },
  { name: 'new', description: 'Begin a new conversation' },
  { name: 'status', description: 'Show whether I am working or waiting' },
  {
    name: 'link',
    description: 'Link this account to your user',
    options: [
      { type: ApplicationCommandOptionType.String, name: 'code', description: 'The code', required: true },
    ],
  },
  { name: 'disclosure', description: 'Show who you are talking to' },
  { name: 'help', description: 'List the commands' },
]
const THREADS: readonly ChannelType[] = [
  ChannelType.AnnouncementThread,
  ChannelType.PublicThread,
  ChannelType.PrivateThread,
]
/** Maximum number of cached channel types. */
const REMEMBERED = 10_000

type GatewayOptions = { token: string; rest: REST } & Pick<Reading, 'groups' | 'reply_in'>

export async function listen(options: GatewayOptions, consuming: Consuming): Promise<void> {
  const { rest, token } = options
  const { signal, cursor, sink, live } = consuming
  let session = cursor === null ? null : (JSON.parse(cursor) as SessionInfo | null)
  const ended = Promise.withResolvers<void>()
  // The rejection is handled by the await below; until then it must not count as unhandled.
  ended.promise.catch(() => undefined)
  const stop = (): void => ended.resolve()
  signal.addEventListener('abort', stop, { once: true })

  const manager = new WebSocketManager({
    token,
    rest,
    intents: INTENTS,
    shardCount: 1,
    retrieveSessionInfo: () => session,
    updateSessionInfo: (_shard, info) => void (session = info),
  })
  const kindOf = createKinds(rest)
  let me = ''
  let taking = Promise.resolve()
  manager.on(WebSocketShardEvents.Dispatch, payload => {
    // One after the other. A failed event was not confirmed: no later event is handled, so that Discord sends
    // it again.
    taking = taking.then(() => take(payload))
    taking.catch((error: unknown) => ended.reject(error))
  })
  manager.on(WebSocketShardEvents.Closed, code => {
    const failure = closedForGood(code)
    if (failure !== null) ended.reject(failure)
  })
  // The close event that follows has the reason.
  manager.on(WebSocketShardEvents.Error, () => undefined)
  manager.on(WebSocketShardEvents.SocketError, () => undefined)

  async function take(payload: GatewayDispatchPayload): Promise<void> {
    if (signal.aborted) return
    const channel = channelOf(payload)
    const isThread = channel === null ? false : THREADS.includes(channel.type ?? (await kindOf(channel.id)))
    const inbound = channel === null ? null : parseDispatch(payload, { ...options, me, isThread })
    const heard = session === null ? null : { ...session, sequence: payload.s }
    // Stored even without an event, so that a process that takes over resumes from the start of the session.
    const begins = payload.t === GatewayDispatchEvents.Ready || payload.t === GatewayDispatchEvents.Resumed
    if (inbound === null && !begins) return
    await sink(inbound === null ? [] : [inbound], heard === null ? undefined : JSON.stringify(heard))
    // Only after the cursor is stored: from now on no message may be lost by a crash.
    if (begins) await live()
  }

  try {
    me = ((await rest.get(Routes.user('@me'), { signal })) as APIUser).id
    const { id } = (await rest.get(Routes.currentApplication(), { signal })) as APIApplication
    await rest.put(Routes.applicationCommands(id), { body: COMMANDS, signal })
    await Promise.race([manager.connect(), ended.promise])
    await ended.promise
  } catch (error) {
    if (!signal.aborted) throw consumeFailed(error)
  } finally {
    signal.removeEventListener('abort', stop)
    // With this close code Discord keeps the session, so that it can be resumed.
    await manager.destroy({ code: CloseCodes.Resuming, reason: 'session moved to another gateway' })
    // Error listeners stay: without one, a late error would end the process.
    for (const event of [WebSocketShardEvents.Dispatch, WebSocketShardEvents.Closed])
      manager.removeAllListeners(event)
    // Its failure has been reported through `ended`.
    await taking.catch(() => undefined)
  }
}

/** Looks up the type of a channel, which message events do not contain. */
function createKinds(rest: REST): (id: string) => Promise<ChannelType> {
  const kinds = new Map<string, ChannelType>()
  return async id => {
    const known = kinds.get(id)
    if (known !== undefined) return known
    const { type } = (await rest.get(Routes.channel(id))) as APIChannel
    kinds.set(id, type)
    for (const [oldest] of kinds) {
      if (kinds.size <= REMEMBERED) break
      kinds.delete(oldest)
    }
    return type
  }
}
