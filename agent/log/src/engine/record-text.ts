/** The stored and streamed text of an event: its record on one line (contract 2). */

/** `session` and `data` are JSON already; a type and a timestamp need no escaping. */
export const composeRecord = (
  id: number,
  session: string,
  type: string,
  createdAt: string,
  data: string,
): string =>
  `{"id":${id},"session_id":${session},"type":"${type}","created_at":"${createdAt}","data":${data}}`
