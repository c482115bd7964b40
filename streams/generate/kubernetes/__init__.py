"""Kubernetes manifests of the topology, as Kustomize bases."""
