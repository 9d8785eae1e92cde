/** How a clock may be set: by minutes, by a time zone, by years (a machine without a battery). */
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const YEAR = 365 * 24 * HOUR

export const CLOCK_STEPS_MS = [10 * MINUTE, -10 * MINUTE, 3 * HOUR, -3 * HOUR, 20 * YEAR, -20 * YEAR] as const
