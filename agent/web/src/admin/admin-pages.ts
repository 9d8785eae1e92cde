/** What the administration consists of: a row here and a route of its name in router.tsx. */
export const ADMIN_PAGES = [
  { to: '/admin/users', label: 'Users' },
  { to: '/admin/accounts', label: 'Service accounts' },
  { to: '/admin/channels', label: 'Channels' },
  { to: '/admin/usage', label: 'Use and cost' },
  { to: '/admin/health', label: 'Agents and health' },
] as const
