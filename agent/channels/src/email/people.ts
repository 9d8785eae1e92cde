/** The author of an email, and the recipients of its answer. */
import { type Address, addressParser, type Email, type Mailbox } from 'postal-mime'
import { MAX_OTHERS } from './limits.ts'

export type Person = { name: string; address: string }

const flat = (addresses: readonly Address[] | undefined): Person[] =>
  (addresses ?? [])
    .flatMap((one): readonly Mailbox[] => (one.group === undefined ? [one] : one.group))
    .map(({ name, address }) => ({ name: name.trim(), address: address.trim().toLowerCase() }))
    .filter(({ address }) => isAddress(address))

/** Rejects text that could add a header or another recipient. */
export const isAddress = (text: string): boolean =>
  /^[^\s<>,;:"@]+@[^\s<>,;:"@]+$/.test(text) && text.length <= 254

/** Null for no sender or several: different checks may then have verified different ones. */
export function senderOf({ from, headers }: Email): Person | null {
  const [value, ...others] = headers.filter(({ key }) => key === 'from').map(header => header.value)
  if (from === undefined || value === undefined || others.length > 0) return null
  if (addressParser(value, { flatten: true }).length !== 1) return null
  return flat([from])[0] ?? null
}

/** All addresses that the email was sent to. */
export const recipientsOf = ({ to, cc, headers }: Email): string[] => [
  ...[...flat(to), ...flat(cc)].map(({ address }) => address),
  ...headers
    .filter(({ key }) => key === 'delivered-to' || key === 'x-original-to')
    .map(({ value }) => value.trim().toLowerCase()),
]

/** Recipients other than the sender and us; none if there are too many, which suggests a mailing list. */
export function othersOf({ to, cc }: Email, sender: string, isOurs: (address: string) => boolean): Person[] {
  const others = new Map<string, Person>()
  for (const person of [...flat(to), ...flat(cc)])
    if (person.address !== sender && !isOurs(person.address) && !others.has(person.address))
      others.set(person.address, person)
  return others.size > MAX_OTHERS ? [] : [...others.values()]
}
