"""What links are good for: merge, translate, cluster, link many, export."""
