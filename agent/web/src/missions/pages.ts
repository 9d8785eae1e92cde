/** The list of missions and one mission. They load together: the list leads to a mission. */
export { MissionPage } from './mission-page.tsx'
export { MissionsPage } from './missions-page.tsx'
