/**
 * Automatic replies of the channel itself, without a session, planned with the inbound row that caused them.
 */
import { type ChannelStore, type InboundRow, repliesOf } from '@cairn/log'
import type { ErrorCode } from '@cairn/protocol'
import { deliveryKey } from '@cairn/sessions'
import type { Inbound } from './adapter.ts'

export type AutomaticReply = Pick<Inbound, 'conversation_key' | 'target' | 'reply' | 'language'> & {
  text: string
}

export const REPLIES = {
  access:
    'I only talk to people with linked accounts. Get a code under Linked accounts in the web UI ' +
    'and send it here as /link CODE.',
  flood: 'You are sending too many messages. Try again later.',
  linked: (name: string) => `This account is now linked to ${name}.`,
  wrongCode:
    'Invalid code. Get a new one in the web UI: a code is valid for ten minutes and can be used once.',
  unproven:
    'I cannot verify that you sent that message, so it did not link your account. ' +
    'Send the code as a reply to this message.',
  codeInGroup: 'Send a code in a direct message only. This code is now invalid: get a new one.',
  start: 'Hello. Send me a message, and I will answer. /help lists the commands.',
  empty: 'Your message has no text or file that I can read. Send it again as text or as a file.',
  unsupported: (kind: string) =>
    `I cannot read messages of this kind (${kind}). Send the content as text or as a file.`,
  fresh: 'New conversation started.',
  nothingRuns: 'No turn is running.',
  noDisclosure: 'No disclosure is configured.',
  mayNotDecide: 'You are not allowed to decide this.',
  promptGone: 'That question is no longer open.',
} as const

/** Why a message was rejected, in words suitable for strangers: internal details go to the logger only. */
const REFUSED: { [C in ErrorCode]?: string } = {
  limit_reached: 'the limit is reached',
  wrong_state: 'the conversation does not accept messages now',
  wrong_target: 'this agent does not accept it',
  invalid_body: 'it is not valid',
  already_answered: 'it was already answered',
}
export const refusedText = (code: ErrorCode): string =>
  `Your message was not accepted: ${REFUSED[code] ?? 'internal error'}.`

export const planReply = (
  channels: ChannelStore,
  { seq, connection_id }: InboundRow,
  { conversation_key, target, reply, language }: Inbound,
  text: string,
): Promise<void> => {
  const id = { session_id: repliesOf(connection_id), event_id: seq, part: 0 }
  const notice: AutomaticReply = {
    conversation_key,
    target,
    text,
    ...(reply === undefined ? {} : { reply }),
    ...(language === undefined ? {} : { language }),
  }
  return channels.planReply({
    ...id,
    connection_id,
    key: deliveryKey(id),
    body: JSON.stringify(notice),
  })
}
