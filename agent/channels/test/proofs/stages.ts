/** Every input and output path of every platform, for the proofs that cover all of them. */
import type { ChannelConfig } from '@cairn/protocol'
import { discord, mailbox, telegramHold, telegramPoll, telegramWebhook } from './on-polls.ts'
import { slackEvents, slackSocket } from './on-slack.ts'
import { postedMail, webhook, whatsapp } from './on-webhooks.ts'
import { website } from './on-website.ts'
import type { Stage } from './stage.ts'

export type OpenStage = () => Promise<Stage>

const STAGES: { [P in ChannelConfig['platform']]: Record<string, OpenStage> } = {
  webhook: { webhook },
  slack: { 'Slack, Events API': slackEvents, 'Slack, Socket Mode': slackSocket },
  telegram: {
    'Telegram, long poll': telegramPoll,
    'Telegram, webhook': telegramWebhook,
    'Telegram, on_unknown: hold': telegramHold,
  },
  whatsapp: { WhatsApp: whatsapp },
  discord: { Discord: discord },
  email: { 'a mailbox': mailbox, 'posted mails': postedMail },
  website: { website },
}

export const ways = Object.values(STAGES).flatMap(stages =>
  Object.entries(stages).map(([way, open]) => ({ way, open })),
)
