/**
 * Slack's payloads, as far as they are used; Slack adds keys at any time.
 * https://docs.slack.dev/apis/events-api · https://docs.slack.dev/reference/interaction-payloads
 */
import { z } from 'zod'

/** Drops elements of an unknown shape, so that one of them does not make the others unreadable. */
const listOf = <S extends z.ZodType>(schema: S) =>
  z
    .array(z.unknown())
    .default([])
    .catch([])
    .transform(items =>
      items.flatMap(item => {
        const parsed = schema.safeParse(item)
        return parsed.success ? [parsed.data] : []
      }),
    )

const text = z.string().optional().catch(undefined)
const flag = z.boolean().optional().catch(undefined)

const SlackFile = z.looseObject({
  id: z.string().catch('file'),
  name: z.string().nullish().catch(null),
  mimetype: text,
  size: z.number().optional().catch(undefined),
  mode: text,
  url_private: text,
  url_private_download: text,
})
export type SlackFile = z.infer<typeof SlackFile>

/** An attachment: a message that a person shares, the preview of a link, or content of an app. */
const SharedMessage = z.looseObject({
  is_share: flag,
  is_msg_unfurl: flag,
  is_reply_unfurl: flag,
  author_name: text,
  author_subname: text,
  pretext: text,
  title: text,
  title_link: text,
  text,
  fallback: text,
  image_url: text,
  fields: listOf(z.looseObject({ title: text, value: text })),
  files: listOf(SlackFile),
  blocks: z.unknown().optional(),
  message_blocks: listOf(
    z.looseObject({ message: z.looseObject({ blocks: z.unknown().optional() }).optional().catch(undefined) }),
  ),
})
export type SharedMessage = z.infer<typeof SharedMessage>

const MessageEvent = z.looseObject({
  type: z.enum(['message', 'app_mention']),
  channel: z.string(),
  channel_type: z.enum(['im', 'mpim', 'channel', 'group', 'app_home']).optional(),
  user: z.string().optional(),
  user_team: z.string().optional(),
  bot_id: z.string().optional(),
  subtype: z.string().optional(),
  text: z
    .string()
    .nullish()
    .transform(text => text ?? ''),
  ts: z.string(),
  thread_ts: z.string().optional(),
  parent_user_id: z.string().optional(),
  files: listOf(SlackFile),
  blocks: z.unknown().optional(),
  attachments: listOf(SharedMessage),
})
export type MessageEvent = z.infer<typeof MessageEvent>

/** A message as the Web API returns it. */
const ThreadMessage = z.looseObject({
  ts: z.string(),
  user: text,
  username: text,
  bot_id: text,
  text: z.string().catch(''),
  files: listOf(SlackFile),
  blocks: z.unknown().optional(),
  attachments: listOf(SharedMessage),
})
export type ThreadMessage = z.infer<typeof ThreadMessage>
export const ThreadMessages = listOf(ThreadMessage)

export const EventCallback = z.looseObject({
  type: z.literal('event_callback'),
  team_id: z.string(),
  /** The bot user that the event is for, which is how the bot learns its own id. */
  authorizations: z.array(z.looseObject({ user_id: z.string(), is_bot: z.boolean().optional() })).optional(),
  event: z.looseObject({ type: z.string() }),
})
export type EventCallback = z.infer<typeof EventCallback>

/** What is known of a message whose other keys do not fit. */
export const MessageHead = z.looseObject({
  channel: z.string().regex(/^D/),
  user: z.string(),
  ts: z.string(),
  bot_id: z.undefined().optional(),
})

/** Null for an event that is not a message. */
export function messageOf({ event }: EventCallback): z.ZodSafeParseResult<MessageEvent> | null {
  return event.type === 'message' || event.type === 'app_mention' ? MessageEvent.safeParse(event) : null
}

export const BlockActions = z.looseObject({
  type: z.literal('block_actions'),
  user: z.looseObject({
    id: z.string(),
    name: z.string().optional(),
    username: z.string().optional(),
    team_id: z.string().optional(),
  }),
  team: z.looseObject({ id: z.string() }).nullish(),
  channel: z.looseObject({ id: z.string(), name: z.string().optional() }).optional(),
  message: z.looseObject({ ts: z.string(), thread_ts: z.string().optional() }).optional(),
  actions: z.array(
    z.looseObject({ action_id: z.string(), action_ts: z.string().optional(), value: z.string().optional() }),
  ),
})
export type BlockActions = z.infer<typeof BlockActions>

export const SlashCommand = z.looseObject({
  command: z.string(),
  text: z.string().default(''),
  team_id: z.string(),
  channel_id: z.string(),
  channel_name: z.string().optional(),
  user_id: z.string(),
  user_name: z.string().optional(),
  trigger_id: z.string(),
})
export type SlashCommand = z.infer<typeof SlashCommand>

export const UrlVerification = z.looseObject({ type: z.literal('url_verification'), challenge: z.string() })
