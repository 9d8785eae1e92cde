/** Who wrote a mail, and who its answer goes to. */
import { type Address, addressParser, type Email, type Mailbox } from 'postal-mime'
import { MOST_OTHERS } from './limits.ts'

export type Person = { name: string; address: string }

const flat = (addresses: readonly Address[] | undefined): Person[] =>
  (addresses ?? [])
    .flatMap((one): readonly Mailbox[] => (one.group === undefined ? [one] : one.group))
    .map(({ name, address }) => ({ name: name.trim(), address: address.trim().toLowerCase() }))
    .filter(({ address }) => isAddress(address))

/** What could begin a header or another recipient is none. */
export const isAddress = (text: string): boolean =>
  /^[^\s<>,;:"@]+@[^\s<>,;:"@]+$/.test(text) && text.length <= 254

/** Null: nobody, or several at once: each check of a mail may have looked at another one. */
export function senderOf({ from, headers }: Email): Person | null {
  const [value, ...others] = headers.filter(({ key }) => key === 'from').map(header => header.value)
  if (from === undefined || value === undefined || others.length > 0) return null
  if (addressParser(value, { flatten: true }).length !== 1) return null
  return flat([from])[0] ?? null
}

/** All addresses that it went to. */
export const recipientsOf = ({ to, cc, headers }: Email): string[] => [
  ...[...flat(to), ...flat(cc)].map(({ address }) => address),
  ...headers
    .filter(({ key }) => key === 'delivered-to' || key === 'x-original-to')
    .map(({ value }) => value.trim().toLowerCase()),
]

/** Beside the sender and us; nobody where there are too many, who are a list and no conversation. */
export function othersOf({ to, cc }: Email, sender: string, isOurs: (address: string) => boolean): Person[] {
  const others = new Map<string, Person>()
  for (const person of [...flat(to), ...flat(cc)])
    if (person.address !== sender && !isOurs(person.address) && !others.has(person.address))
      others.set(person.address, person)
  return others.size > MOST_OTHERS ? [] : [...others.values()]
}
