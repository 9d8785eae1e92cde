/** The title that stands in until a model has found one: a fold of the log. Null: there is none to replace. */
import type { SessionEvent } from '@cairn/protocol'

export const foldProvisionalTitle = (standing: string | null, event: SessionEvent): string | null =>
  event.type !== 'session.title_updated'
    ? standing
    : event.data.provisional === true
      ? (event.data.title ?? null)
      : null
