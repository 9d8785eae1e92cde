/** Attributes of a scrollable element: it can be focused and scrolled by keys, and has an accessible name. */
export const scrollRegion = (name: string) => ({ tabIndex: 0, role: 'group', 'aria-label': name }) as const
