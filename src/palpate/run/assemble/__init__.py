"""From a run to the record its loop works on."""
