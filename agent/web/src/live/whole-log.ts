/** Above this number of events, a view that does not show events does not read the whole log. */
export const WHOLE_LOG_MAX = 20_000
