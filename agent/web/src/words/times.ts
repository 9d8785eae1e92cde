/** Times that lie ahead. */
export const timesWords = {
  ahead: (duration: string, clock: string) => `in ${duration}, ${clock}`,
  due: (clock: string) => `now, ${clock}`,
}
