import { defineConfig } from '../../src/index.ts'
import { expireEvents } from './operations.ts'

export default defineConfig({ operations: [expireEvents] })
