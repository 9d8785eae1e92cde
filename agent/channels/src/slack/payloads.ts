/**
 * Slack's payloads, as far as they are used; Slack adds keys at any time.
 * https://docs.slack.dev/apis/events-api · https://docs.slack.dev/reference/interaction-payloads
 */
import { z } from 'zod'

const MessageEvent = z.looseObject({
  type: z.enum(['message', 'app_mention']),
  channel: z.string(),
  channel_type: z.enum(['im', 'mpim', 'channel', 'group', 'app_home']).optional(),
  user: z.string().optional(),
  user_team: z.string().optional(),
  bot_id: z.string().optional(),
  subtype: z.string().optional(),
  text: z.string().default(''),
  ts: z.string(),
  thread_ts: z.string().optional(),
  parent_user_id: z.string().optional(),
  files: z
    .array(
      z.looseObject({
        id: z.string(),
        name: z.string().nullish(),
        mimetype: z.string().optional(),
        size: z.number().optional(),
        url_private_download: z.string().optional(),
      }),
    )
    .optional(),
})
export type MessageEvent = z.infer<typeof MessageEvent>

export const EventCallback = z.looseObject({
  type: z.literal('event_callback'),
  team_id: z.string(),
  /** The bot user that the event is for, which is how the bot learns its own id. */
  authorizations: z.array(z.looseObject({ user_id: z.string(), is_bot: z.boolean().optional() })).optional(),
  event: z.looseObject({ type: z.string() }),
})
export type EventCallback = z.infer<typeof EventCallback>

/** Null for an event that is not handled here. */
export function messageOf({ event }: EventCallback): MessageEvent | null {
  if (event.type !== 'message' && event.type !== 'app_mention') return null
  const parsed = MessageEvent.safeParse(event)
  return parsed.success ? parsed.data : null
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
