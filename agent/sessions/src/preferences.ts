/** A person's own preferences for the web UI. The store keeps those that are not the default. */
import type { MarkOwner } from '@cairn/log'
import type { BodyOf, Principal } from '@cairn/protocol'
import type { Deps } from './deps.ts'

type StoreOnly = Pick<Deps, 'store'>
type Preferences = Required<BodyOf<'changePreferences'>>

const LETTER_KEYS = 'letter_keys'
/** A mark of each preference. */
const MAX_PREFERENCES = 50

const ownerOf = ({ org_id, id }: Principal): MarkOwner => ({ org_id, user_id: id })

export async function readPreferences({ store }: StoreOnly, principal: Principal): Promise<Preferences> {
  const marks = await store.marks.list(ownerOf(principal), 'preference')
  return { letter_keys: !marks.some(({ about }) => about === LETTER_KEYS) }
}

export async function changePreferences(
  { store }: StoreOnly,
  { letter_keys }: BodyOf<'changePreferences'>,
  principal: Principal,
): Promise<void> {
  const owner = ownerOf(principal)
  if (letter_keys === true) await store.marks.remove(owner, 'preference', LETTER_KEYS)
  else if (letter_keys === false) {
    const off = { kind: 'preference', about: LETTER_KEYS, content: 'false' } as const
    await store.marks.put(owner, off, MAX_PREFERENCES)
  }
}
