// In your own project this line is: import { expire } from 'sluice'
import { expire } from '../../src/index.ts'

export const expireEvents = expire({
  name: 'expire-example-events',
  table: 'example_events',
  olderThan: '90 days',
  by: 'created_at',
})
