/** The administration pages without charts. They load together, because each is small. */
export { ChannelsPage } from './channels/channels-page.tsx'
export { AccountsPage } from './admin/accounts-page.tsx'
export { HealthPage } from './admin/health-page.tsx'
export { UsersPage } from './admin/users-page.tsx'
