/** Stores the prompt that the buttons of a message refer to, before they are shown. */
import type { ChannelStore, DeliveryId } from '@cairn/log'
import { promptId } from '@cairn/sessions'
import type { OutgoingPart } from './adapter.ts'
import type { Piece } from './render.ts'

export async function ask(
  channels: ChannelStore,
  { session_id, event_id, part }: DeliveryId,
  { ask }: Piece,
): Promise<NonNullable<OutgoingPart['prompt']> | null> {
  if (ask === undefined || ask.choices.length === 0) return null
  const id = promptId(session_id, event_id)
  await channels.putPrompt({
    id,
    session_id,
    kind: ask.kind,
    about: ask.about,
    choices: JSON.stringify(ask.choices),
    event_id,
    part,
    item_id: await channels.itemOf(session_id, event_id),
    shown_hash: ask.shown_hash ?? null,
  })
  return { id, choices: ask.choices.map((label, at) => ({ value: `${id}:${at}`, label })) }
}
