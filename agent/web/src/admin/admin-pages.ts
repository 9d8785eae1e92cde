/** The administration pages. Each needs an entry here and a route of the same name in router.tsx. */
import { adminWords } from '../words/admin.ts'
export const ADMIN_PAGES = [
  { to: '/admin/users', label: adminWords.users },
  { to: '/admin/accounts', label: adminWords.serviceAccounts },
  { to: '/admin/channels', label: adminWords.channels },
  { to: '/admin/usage', label: adminWords.usage },
  { to: '/admin/health', label: adminWords.health },
] as const
