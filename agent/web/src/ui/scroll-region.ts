/** Attributes of what scrolls by itself: keys reach it and scroll it, and a reader hears what it is. */
export const scrollRegion = (name: string) => ({ tabIndex: 0, role: 'group', 'aria-label': name }) as const
