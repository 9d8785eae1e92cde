/** What an event of Discord's gateway says. Pure. */
import {
  type APIInteraction,
  type APIMessage,
  type APIUser,
  ApplicationCommandOptionType,
  ApplicationCommandType,
  ChannelType,
  type GatewayDispatchPayload,
  GatewayDispatchEvents,
  InteractionType,
} from 'discord-api-types/v10'
import type { Inbound } from '../adapter.ts'

export type Reading = {
  /** The bot's own user. */
  me: string
  groups: 'mention' | 'all'
  reply_in: 'thread' | 'channel'
  /** Whether the channel of the event is a thread. */
  isThread: boolean
}
/** What a message of the gateway holds beside those of the API. */
type Said = APIMessage & { guild_id?: string; member?: { nick?: string | null } }

/** Of which channel it must be known whether that is a thread; null: nothing that anybody said there. */
export function channelOf({ t, d }: GatewayDispatchPayload): { id: string; type?: ChannelType } | null {
  if (t === GatewayDispatchEvents.InteractionCreate)
    return d.channel === undefined ? null : asChannel(d.channel)
  if (t !== GatewayDispatchEvents.MessageCreate && t !== GatewayDispatchEvents.MessageUpdate) return null
  if (d.guild_id === undefined) return { id: d.channel_id, type: ChannelType.DM }
  // Discord sends it, and its reference does not promise it.
  const { channel_type: type } = d as { channel_type?: ChannelType }
  return { id: d.channel_id, ...(type === undefined ? {} : { type }) }
}
const asChannel = ({ id, type }: { id: string; type: ChannelType }) => ({ id, type })

/** Null: nothing that anybody said. */
export function parseDispatch(payload: GatewayDispatchPayload, reading: Reading): Inbound | null {
  const { t, d } = payload
  if (t === GatewayDispatchEvents.MessageCreate) return parseMessage(d as Said, reading, null)
  if (t === GatewayDispatchEvents.MessageUpdate)
    // Without a time nobody has edited it: a link has got its picture.
    return d.edited_timestamp === null ? null : parseMessage(d as Said, reading, d.edited_timestamp)
  return t === GatewayDispatchEvents.InteractionCreate ? parseInteraction(d) : null
}

function parseMessage(said: Said, reading: Reading, edited: string | null): Inbound {
  const { id, author, attachments } = said
  const place = placeOf(said, reading)
  const files = attachments.map(({ filename, content_type, size, url }) => ({
    name: filename,
    ...(content_type === undefined ? {} : { mime_type: content_type }),
    size,
    ref: { url },
  }))
  const isMeant = place.isDirect || reading.groups === 'all' || isMentioned(said, reading.me)
  const quiet = reading.isThread ? { only_if_standing: true } : { ignore: 'not mentioned' }
  return {
    event_key: edited === null ? `m:${id}` : `e:${id}:${edited}`,
    conversation_key: place.key,
    target: place.target,
    source: {
      platform: 'discord',
      chat_id: said.channel_id,
      chat_type: place.isDirect ? 'dm' : 'channel',
      user_id: author.id,
      user_name: said.member?.nick ?? nameOf(author),
      thread_id: place.thread,
      ts: id,
    },
    text: shownText(said, reading.me),
    ...(files.length === 0 ? {} : { files }),
    ...(edited === null ? {} : { edits: `m:${id}` }),
    ...(author.bot === true || said.webhook_id !== undefined ? { ignore: 'bot' } : isMeant ? {} : quiet),
  }
}

const nameOf = ({ global_name, username }: APIUser): string => global_name ?? username

/** A mention outside a thread opens one, whose id is that of the message. */
function placeOf({ id, channel_id, guild_id }: Said, { isThread, reply_in }: Reading) {
  const isDirect = guild_id === undefined
  if (isDirect || isThread || reply_in === 'channel')
    return { key: channel_id, target: { channel_id }, isDirect, thread: isThread ? channel_id : null }
  return { key: id, target: { channel_id, opens: id }, isDirect, thread: id }
}

const isMentioned = ({ mentions, referenced_message }: Said, me: string): boolean =>
  mentions.some(user => user.id === me) || referenced_message?.author.id === me

/** As people see it; mentions of ourselves only say who is meant. */
function shownText({ content, mentions }: Said, me: string): string {
  const names = new Map(mentions.map(user => [user.id, nameOf(user)]))
  return content
    .replace(/<@!?(\d+)>/g, (whole, id: string) =>
      id === me ? '' : names.has(id) ? `@${names.get(id)}` : whole,
    )
    .trim()
}

function parseInteraction(interaction: APIInteraction): Inbound | null {
  const { id, token, application_id, channel } = interaction
  const user = interaction.member?.user ?? interaction.user
  const text = textOf(interaction)
  const press = interaction.type === InteractionType.MessageComponent ? interaction.data.custom_id : undefined
  if (user === undefined || channel === undefined || (text === null && press === undefined)) return null
  const isDirect = interaction.guild_id === undefined
  return {
    event_key: `i:${id}`,
    conversation_key: channel.id,
    target: { channel_id: channel.id },
    source: {
      platform: 'discord',
      chat_id: channel.id,
      chat_type: isDirect ? 'dm' : 'channel',
      user_id: user.id,
      user_name: interaction.member?.nick ?? nameOf(user),
      thread_id: isDirect ? null : channel.id,
      ts: id,
    },
    text: text ?? '',
    ...(press === undefined ? {} : { press }),
    reply: { id, token, application_id, kind: press === undefined ? 'command' : 'press' },
    ...('locale' in interaction ? { language: interaction.locale } : {}),
  }
}

/** A slash command as somebody would have typed it. */
function textOf(interaction: APIInteraction): string | null {
  if (interaction.type !== InteractionType.ApplicationCommand) return null
  const { data } = interaction
  if (data.type !== ApplicationCommandType.ChatInput) return null
  const given = (data.options ?? []).flatMap(option =>
    option.type === ApplicationCommandOptionType.String ? [option.value] : [],
  )
  return [`/${data.name}`, ...given].join(' ')
}
