/** How a row of the event table is written. */
import { z } from 'zod'
import type { EventFacts, Family, Note, Producer } from './row.ts'

type Shape = z.ZodRawShape
type Read<S extends Shape> = z.output<z.ZodObject<S, z.core.$loose>>
type Options<S extends Shape, X extends Shape> = EventFacts & {
  /** Keys beyond the documented ones; readers must not rely on them. */
  extra?: X
  /**
   * The message that the model reads for this event. Types that are part of the dialogue itself (messages,
   * answers, tool results) have none: the conversation fold places them.
   */
  says?: (data: Read<NoInfer<S & X>>) => Note | null
  /** The one-line summary of the EVENTS tab and of `cairn tail`. */
  summary: (data: Read<NoInfer<S & X>>) => string
}

export function def<const P extends Producer, S extends Shape, X extends Shape = {}>(
  producer: P,
  family: Family,
  when: string,
  keys: S,
  options: Options<S, X>,
) {
  const { extra = {} as X, says, summary, ...facts } = options
  const shape = { ...keys, ...extra } as S & X
  return {
    producer,
    family,
    when,
    keys: Object.keys(keys),
    extra: Object.keys(extra),
    facts: facts as EventFacts,
    says: says ?? null,
    summary,
    write: z.strictObject(shape),
    read: z.looseObject(shape),
  }
}

/** An event type with two documented shapes. `keys` lists the keys of both; `extra` belongs to the second. */
export function either<const P extends Producer, A extends Shape, B extends Shape, X extends Shape = {}>(
  producer: P,
  family: Family,
  when: string,
  a: A,
  b: B,
  options: EventFacts & { extra?: X; summary: (data: Read<A> | Read<B & X>) => string },
) {
  const { summary, extra: given, ...facts } = options
  const extra = (given ?? {}) as X
  const second = { ...b, ...extra } as B & X
  return {
    producer,
    family,
    when,
    keys: [...new Set([...Object.keys(a), ...Object.keys(b)])],
    extra: Object.keys(extra),
    facts: facts as EventFacts,
    says: null,
    summary,
    write: z.union([z.strictObject(a), z.strictObject(second)]),
    read: z.union([z.looseObject(a), z.looseObject(second)]),
  }
}
