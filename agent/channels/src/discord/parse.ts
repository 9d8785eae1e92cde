/** Parses events of Discord's gateway. Pure. */
import {
  type APIInteraction,
  type APIMessage,
  ApplicationCommandOptionType,
  ApplicationCommandType,
  ChannelType,
  type GatewayDispatchPayload,
  GatewayDispatchEvents,
  InteractionType,
} from 'discord-api-types/v10'
import type { Inbound } from '../adapter.ts'
import { answeredBy, filesOf, forwardedFiles, forwardsOf, isReport, nameOf, shownText } from './content.ts'

export type Reading = {
  /** Id of the bot's own user. */
  me: string
  groups: 'mention' | 'all'
  reply_in: 'thread' | 'channel'
  /** True if the event's channel is a thread. */
  isThread: boolean
}
/** Keys of a gateway message beyond those of the API. */
type Said = APIMessage & { guild_id?: string; member?: { nick?: string | null } }

/** The channel whose type must be known; null if the event is not something that a person wrote. */
export function channelOf({ t, d }: GatewayDispatchPayload): { id: string; type?: ChannelType } | null {
  if (t === GatewayDispatchEvents.InteractionCreate)
    return d.channel === undefined ? null : asChannel(d.channel)
  if (t !== GatewayDispatchEvents.MessageCreate && t !== GatewayDispatchEvents.MessageUpdate) return null
  if (d.guild_id === undefined) return { id: d.channel_id, type: ChannelType.DM }
  // Discord sends it, but its reference does not document it.
  const { channel_type: type } = d as { channel_type?: ChannelType }
  return { id: d.channel_id, ...(type === undefined ? {} : { type }) }
}
const asChannel = ({ id, type }: { id: string; type: ChannelType }) => ({ id, type })

/** Null if the event is not something that a person wrote. */
export function parseDispatch(payload: GatewayDispatchPayload, reading: Reading): Inbound | null {
  const { t, d } = payload
  if (t === GatewayDispatchEvents.MessageCreate) return parseMessage(d as Said, reading, null)
  if (t === GatewayDispatchEvents.MessageUpdate)
    // Without this timestamp the message was not edited: Discord has added the preview of a link.
    return d.edited_timestamp === null ? null : parseMessage(d as Said, reading, d.edited_timestamp)
  return t === GatewayDispatchEvents.InteractionCreate ? parseInteraction(d) : null
}

function parseMessage(said: Said, reading: Reading, edited: string | null): Inbound {
  const { id, author, activity } = said
  const place = placeOf(said, reading)
  const { me } = reading
  const text = shownText(said, me)
  const forwards = forwardsOf(said)
  const answers = answeredBy(said, me)
  // In a server the bot has not seen the message whose files the person asks about.
  const answered = place.isDirect || answers?.own === true ? null : said.referenced_message
  const files = [...filesOf(said), ...forwardedFiles(said), ...(answered ? filesOf(answered) : [])]
  const isEmpty = text === '' && forwards.length === 0 && files.length === 0
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
    text,
    ...(files.length === 0 ? {} : { files }),
    ...(forwards.length === 0 ? {} : { forwards }),
    ...(answers === null ? {} : { answers }),
    ...(isEmpty && activity !== undefined ? { unsupported: 'activity' } : {}),
    ...(edited === null ? {} : { edits: `m:${id}` }),
    ...(author.bot === true || said.webhook_id !== undefined
      ? { ignore: 'bot' }
      : isReport(said)
        ? { ignore: 'system message' }
        : isMeant
          ? {}
          : quiet),
  }
}

/** A mention outside a thread opens one with the id of the message. */
function placeOf({ id, channel_id, guild_id }: Said, { isThread, reply_in }: Reading) {
  const isDirect = guild_id === undefined
  if (isDirect || isThread || reply_in === 'channel')
    return { key: channel_id, target: { channel_id }, isDirect, thread: isThread ? channel_id : null }
  return { key: id, target: { channel_id, opens: id }, isDirect, thread: id }
}

const isMentioned = ({ mentions, referenced_message }: Said, me: string): boolean =>
  mentions.some(user => user.id === me) || referenced_message?.author.id === me

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

/** A slash command as the text that a person would have typed. */
function textOf(interaction: APIInteraction): string | null {
  if (interaction.type !== InteractionType.ApplicationCommand) return null
  const { data } = interaction
  if (data.type !== ApplicationCommandType.ChatInput) return null
  const given = (data.options ?? []).flatMap(option =>
    option.type === ApplicationCommandOptionType.String ? [option.value] : [],
  )
  return [`/${data.name}`, ...given].join(' ')
}
