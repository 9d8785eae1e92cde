/** The title used until a model has generated one, as a fold of the log. Null: no title to replace. */
import type { SessionEvent } from '@cairn/protocol'

export const foldProvisionalTitle = (standing: string | null, event: SessionEvent): string | null =>
  event.type !== 'session.title_updated'
    ? standing
    : event.data.provisional === true
      ? (event.data.title ?? null)
      : null
