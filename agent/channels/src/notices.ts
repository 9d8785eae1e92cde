/**
 * Automatic replies of the channel itself, without a session, planned with the inbound row that caused them.
 */
import { type ChannelStore, type InboundRow, noticesOf } from '@cairn/log'
import type { ErrorCode } from '@cairn/protocol'
import { deliveryKey } from '@cairn/sessions'
import type { Inbound } from './adapter.ts'

export type Notice = Pick<Inbound, 'conversation_key' | 'target' | 'reply' | 'language'> & { text: string }

export const NOTICES = {
  access:
    'I only talk with people I know. Get a code under Linked accounts in the web UI and send it here as ' +
    '/link CODE.',
  flood: 'That is more than I can take at once. Try again later.',
  linked: (name: string) => `This account is linked to ${name}.`,
  wrongCode: 'That code is not valid. Get a new one in the web UI; it is good for ten minutes and once.',
  unproven:
    'It is not known whether that message is really yours, so it links nothing. Send the code as an answer ' +
    'to this one.',
  codeInGroup: 'A code is sent in a direct message only. This one is not valid any more; get a new one.',
  fresh: 'A new conversation begins.',
  nothingRuns: 'Nothing is running.',
  noDisclosure: 'The operator has configured no disclosure.',
  mayNotDecide: 'You may not decide this.',
  promptGone: 'That question is not open any more.',
} as const

/** Why a message was rejected, in words suitable for strangers: internal details go to the logger only. */
const REFUSED: { [C in ErrorCode]?: string } = {
  limit_reached: 'there is as much as there may be',
  wrong_state: 'the conversation takes no messages now',
  wrong_target: 'this agent cannot take it',
  invalid_body: 'it is not valid',
  already_answered: 'it was answered before',
}
export const refusedText = (code: ErrorCode): string =>
  `That was not taken: ${REFUSED[code] ?? 'something is wrong with this service'}.`

export const planNotice = (
  channels: ChannelStore,
  { seq, connection_id }: InboundRow,
  { conversation_key, target, reply, language }: Inbound,
  text: string,
): Promise<void> => {
  const id = { session_id: noticesOf(connection_id), event_id: seq, part: 0 }
  const notice: Notice = {
    conversation_key,
    target,
    text,
    ...(reply === undefined ? {} : { reply }),
    ...(language === undefined ? {} : { language }),
  }
  return channels.planNotice({
    ...id,
    connection_id,
    key: deliveryKey(id),
    body: JSON.stringify(notice),
  })
}
