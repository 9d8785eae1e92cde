/** What a row of the event table states, apart from its schemas. */

export const PRODUCERS = [
  'messages',
  'goals',
  'lifecycle',
  'inbox',
  'feedback',
  'disclosure',
  'missions',
  'wake',
  'sweeper',
  'turn',
  'advisor',
  'tools',
  'skills',
  'governance',
  'experts',
  'saga',
  'evaluator',
  'coordination',
  'rounds',
  'research',
  'browser',
  'code',
  'titles',
  'none',
] as const
export type Producer = (typeof PRODUCERS)[number]

/** Producers that are declared but not implemented: no code writes their types. A gate checks the sources. */
export const NOT_BUILT: readonly Producer[] = []

/** Families group event types: colours and filters of the EVENTS tab, sections of docs/events.md. */
export const FAMILIES = [
  'conversation',
  'tools',
  'plan',
  'coordination',
  'missions',
  'governance',
  'saga',
  'experts',
  'goals',
  'inbox',
  'browser',
  'code',
  'lifecycle',
  'reserved',
] as const
export type Family = (typeof FAMILIES)[number]

/** Facts that hold for every event of a type, regardless of its payload. All default to false or absent. */
export type EventFacts = {
  /**
   * The part of the event in the shape of its session, which lists draw as a strip: a step begins or ends an
   * activity, an end ends all but a wait for a person, a halt ends all.
   */
  shape?: 'step' | 'end' | 'halt'
  /** Messaging channels may show this event to their users. */
  channel?: true
  /**
   * `input_tokens`, `output_tokens` and `cost_usd` count model calls that no other event counts.
   * (turn.summary repeats those of its responses, so it does not have this fact.)
   */
  usage?: true
  /** Requests work: an idle session is claimed for it, a running turn folds it in (contract 7.3). */
  wakes?: true
  /** Asks a person: the turn waits for the answer, or continues without it (contract 7.8). */
  asks?: 'waits' | 'goes_on'
  /** Only the runner of a turn writes it, never outside a wake. */
  worker?: true
  /** The status that the session gets. */
  status?: 'active' | 'paused' | 'completed' | 'failed'
  /** A saga starts or ends, or a running one must be rolled back. */
  saga?: 'begins' | 'ends' | 'rolls_back'
  /** Starts a turn if the previous one has ended. */
  starts_turn?: true
  /** May follow the end of the work without extending the turn. */
  aftermath?: true
  /**
   * The model reads it in the next turn, whenever that runs. It does not cause a turn unless `wakes` is set.
   */
  read_later?: true
  /** A crash, a recovery or a failure, marked in the EVENTS tab. */
  alarm?: true
  /**
   * Contains call arguments, which people approve and audit: redaction removes the secret itself and no more.
   */
  arguments?: true
  /** The parent's report on a worker is derived from it. */
  reported?: true
  /** The producer exists but does not write this type yet. */
  planned?: true
  /** Something went wrong. `exclude` keeps the session out of training data unless it is requested. */
  trouble?: 'exclude' | 'note'
}

/** What the model reads of an event: a title and a text. */
export type Note = readonly [title: string, text: string]
